// Package backend is the contract between the engine and the stores: a [Store] with its numbered rules.
// Stores import it, and so does presencetest, which checks them. Sites hardly need it.
package backend
