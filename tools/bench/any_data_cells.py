"""Which sets and parts the tables of `./dev bench any-data` have besides that of speed; `./dev soak any-data` makes a cell
of each. Needs no NumPy."""

CHANGED = ("sift", "tfidf", "duplicates", "huge-dimension")  # of the tuning half
FILTERED = ("patches", "minilm", "clusters-skewed", "series")  # of the held-out half, without many equal distances
PARTS = 5  # of building the largest index
