package main

func attention(v isa) {}
