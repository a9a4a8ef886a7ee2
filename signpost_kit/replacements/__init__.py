"""Replacement texts: similar, random and adversarial. The offline generator is :mod:`.gazetteer`."""
