package main

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/secure/precis"
	"golang.org/x/text/unicode/norm"

	"github.com/rollcall-go/rollcall/presence"
)

const (
	maxNameLen = 32 // characters, combining marks and joiners not counted
	maxMarks   = 4  // combining marks and joiners on one letter: Vietnamese, Thai and Hebrew names need at most three
)

// nameRule is what an error page says about names.
const nameRule = "A name has 1 to 32 characters: letters of any language, digits, “-”, “_”, “.”, “'”, “’”, and spaces between words. " +
	"A word has letters of one script, in their usual form, and nothing that cannot be seen."

// folded maps names to ids. Names that differ in case alone have the same id: "ΝΙΚΟΣ" and "Νικος", "STRAUSS" and
// "Strauß". It refuses what cannot be seen, and joiners but where a script is spelt with them (RFC 8264).
var folded = precis.NewFreeform(precis.FoldCase(), precis.Norm(norm.NFC))

// spelt replaces what names may be spelt with in two ways: spaces, apostrophes, and the vowel am of Thai and Lao.
var spelt = strings.NewReplacer(" ", "-", "’", "'", "\u0e33", "\u0e4d\u0e32", "\u0eb3", "\u0ecd\u0eb2")

// userNamed returns the user who signs in with a name, and false if the name is
// not allowed. "María José" is shown as typed, and its id is "maría-josé".
//
// Names with the same id are the same user: "Alice" and "alice", "Al B" and "al-b", "O’Neill" and "O'Neill". A
// keyboard may send "é" as one character, or as "e" and a combining accent; both become the one character.
func userNamed(name string) (presence.User, bool) {
	if !utf8.ValidString(name) {
		return presence.User{}, false
	}
	name = norm.NFC.String(oneSpace(name))
	if !validName(name) {
		return presence.User{}, false
	}
	id, err := folded.String(spelt.Replace(name))
	if err != nil {
		return presence.User{}, false
	}
	user := presence.User{ID: presence.UserID(id), Name: name, Group: members[presence.UserID(id)]}
	return user, user.Validate() == nil // a name with many marks may be too long
}

// oneSpace returns a name without the spaces around it, and with one space for
// each run of spaces within it.
func oneSpace(name string) string {
	if name = strings.TrimSpace(name); !strings.Contains(name, "  ") {
		return name
	}
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == ' ' }), " ")
}

// validName reports whether a name in its composed form has only the characters of nameRule. A combining mark or
// joiner belongs to the letter before it.
func validName(name string) bool {
	characters, marks, onLetter := 0, 0, false
	for _, r := range name {
		if unicode.IsMark(r) || isJoiner(r) {
			if marks++; !onLetter || marks > maxMarks {
				return false
			}
			continue
		}
		marks, onLetter = 0, unicode.IsLetter(r)
		if !onLetter && !unicode.IsDigit(r) && !strings.ContainsRune(separators+"'’", r) || isOddForm(r) {
			return false
		}
		characters++
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(separators, r) })
	return 1 <= characters && characters <= maxNameLen && !slices.ContainsFunc(words, mixesScripts)
}

// separators stand between the words of a name.
const separators = "-_. "

func isJoiner(r rune) bool { return r == '\u200c' || r == '\u200d' }

// isOddForm reports whether a character is another form of others, such as a wide or mathematical letter: with it
// one name would look like another. The vowel am of Thai and Lao is such a form too, and so are the single letters
// of Korean, such as "ㅋㅋ": everybody writes them.
func isOddForm(r rune) bool {
	korean := 'ㄱ' <= r && r <= 'ㅣ'
	return r >= utf8.RuneSelf && !norm.NFKC.IsNormalString(string(r)) && !korean && !unicode.In(r, unicode.Thai, unicode.Lao)
}

// mixesScripts reports whether a word has letters of several scripts, such as a Cyrillic "а" in a Latin word. The
// scripts of East Asia are written together, and with Latin letters.
func mixesScripts(word string) bool {
	var script *unicode.RangeTable
	together := false
	for _, r := range word {
		switch {
		case unicode.In(r, unicode.Common, unicode.Inherited):
		case unicode.In(r, unicode.Latin, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo, unicode.Hangul):
			together = true
		case script == nil:
			script = scriptOf(r)
		case !unicode.Is(script, r):
			return true
		}
	}
	return together && script != nil
}

func scriptOf(r rune) *unicode.RangeTable {
	for _, script := range unicode.Scripts {
		if unicode.Is(script, r) {
			return script
		}
	}
	return nil
}
