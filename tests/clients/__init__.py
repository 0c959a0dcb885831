"""Tests of the clients that speak to snapd over its wire contract."""
