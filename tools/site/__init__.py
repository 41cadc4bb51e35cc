"""The site of the documentation (`make site`): pages of the repository → pages that a site generator reads.

Pages are written for the repository. What differs on the site is made here, so that any generator that reads
`mkdocs.yml` can build it: links (`places.py`), Markdown's dialect (`pages.py`), the navigation (`contents.py`), and
notebooks with their results (`notebooks.py`). `tree.py` puts all of them into one folder.
"""
