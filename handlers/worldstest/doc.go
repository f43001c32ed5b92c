// Package worldstest plays two worlds that differ in one thing: in one a user closes the last tab, and in the
// other the same user turns invisible at that moment, and goes on using the site. Everything that other
// visitors get must be equal byte by byte, except moments and the names that a fleet makes up. The package has
// only tests.
package worldstest
