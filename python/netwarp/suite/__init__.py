"""`netwarp suite`: the tests that RFCs ask of a congestion control or a queue, beside known ones."""
