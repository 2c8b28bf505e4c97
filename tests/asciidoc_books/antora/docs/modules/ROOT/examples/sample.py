# tag::shown[]
def shown():
    return 1


# end::shown[]
# tag::hidden[]
def hidden():
    return 2


# end::hidden[]
