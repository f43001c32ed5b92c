//go:build !race

package sites_test

const raced = false
