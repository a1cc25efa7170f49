"""Other libraries' interfaces over vectis.Index: switch by changing one import.

    from vectis.compat import faiss      # instead of: import faiss
    from vectis.compat import hnswlib    # instead of: import hnswlib
    from vectis.compat.sklearn import NearestNeighbors

`docs/python-compat.md` lists what is covered and the differences that remain. None of the modules needs the library
that it stands for, except `vectis.compat.sklearn`, which extends classes of scikit-learn.
"""
