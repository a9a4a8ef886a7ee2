"""Replacement texts: similar, random and adversarial.

:mod:`.gazetteer` makes them offline, :mod:`.generate` asks a model that sees the picture; :mod:`.validation` checks
both, :mod:`.diversity` tells how varied a set is.
"""
