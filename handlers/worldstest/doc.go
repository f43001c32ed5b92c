// Package worldstest plays two worlds that differ in one thing: in one of them a user closes the
// last tab, and in the other the same user turns invisible at that moment, and goes on using the
// site. All that anybody else gets must be equal byte by byte, but for moments and for the names
// that a fleet makes up. It has nothing but tests.
package worldstest
