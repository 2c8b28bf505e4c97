"""How much work one page or one configuration file may cause.

Books come from strangers too. Each limit is far beyond what real books need; a page that exceeds one gets a notice with
its file name, and the ingest goes on. docs/security.md lists them for operators.
"""

from __future__ import annotations

MAX_FILE_BYTES = 100_000_000  # of one file on disk; scanned documents reach tens of megabytes
MAX_PAGE_CHARACTERS = 10_000_000  # of the text of one page after conversion; long manuals on one page have two million
MAX_DEPTH = 100  # levels of lists, quotes, directives and admonitions inside each other
MAX_HTML_DEPTH = 120  # elements inside each other; deeper ones are read as if they were side by side

MAX_DOCUMENT_SECONDS = 600.0  # for converting one PDF, EPUB or DOCX; a manual of a thousand pages takes minutes
MAX_DOCUMENT_BYTES = 2_000_000_000  # of memory for the process that converts it
MAX_DOCUMENT_UNPACKED = 500_000_000  # bytes of the files inside an EPUB or DOCX

MAX_INCLUDE_DEPTH = 10  # files that include each other, as in mdBook
MAX_INCLUDED_CHARACTERS = 4_000_000  # characters that includes may add to one page

MAX_CONFIG_BYTES = 5_000_000  # of a configuration or a table of contents
MAX_YAML_NODES = 100_000  # of front matter or a configuration, each alias counted as what it stands for
MAX_YAML_DEPTH = 60  # lists and mappings inside each other
