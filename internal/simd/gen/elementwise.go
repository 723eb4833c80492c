package main

func elementwise(v isa) {}
