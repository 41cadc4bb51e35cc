"""`netwarp suite`: the tests that RFCs require of a congestion control or a queue, beside known ones."""
