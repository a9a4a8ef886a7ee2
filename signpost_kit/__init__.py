"""signpost_kit: what does a vision-language model do when words disagree with the picture?

Importing this package does no work; import the part you need, e.g. ``from signpost_kit import metrics``.
"""

__version__ = "0.1.0"
