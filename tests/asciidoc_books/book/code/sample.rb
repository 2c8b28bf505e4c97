# line one of the sample
# line two of the sample
# tag::body[]
def body
  42
end
# end::body[]
# not this
