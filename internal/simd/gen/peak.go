package main

func peak(v isa) {}
