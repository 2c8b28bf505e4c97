"""The version of Quoth, and those that make up the fingerprint of an index.

Bump CHUNKER_VERSION with any change after which the same page gives other chunks, and TERMS_VERSION when the same text
gives other terms: an index built before is then refused until it is built again. They have a module of their own so
that reading them does not load the code that splits.
"""

__version__ = "0.1.0"

CHUNKER_VERSION = "9"
TERMS_VERSION = "terms-2"
