"""The versions that make up the fingerprint of an index. They stand here so that asking need not load what splits.

Bump one with any change after which the same page would give other chunks, or the same text other terms: an index
built before is then refused until it is built again.
"""

CHUNKER_VERSION = "5"
TERMS_VERSION = "terms-1"
