package sqlstore

import (
	"cmp"
	"embed"
	"path"
	"regexp"
	"strconv"
	"strings"
	"text/template"
)

// texts are the statements and, in files that begin with a number, the migrations. They are templates, for what the
// dialects have in different words. Parameters are written as PostgreSQL has them.
//
//go:embed sql
var texts embed.FS

var parameter = regexp.MustCompile(`\$([0-9]+)`)

// Names in the files. The names of a new index and of a trigger have no schema, because they get that of their
// table.
var ourName = regexp.MustCompile(`(INDEX |TRIGGER )?rollcall_`)

// validName matches what a Config may choose for a part of names.
var validName = regexp.MustCompile(`^([a-z_][a-z0-9_]{0,31})?$`)

// words returns what the templates may call.
func (d Dialect) words() template.FuncMap {
	words := template.FuncMap{
		"postgres": func() bool { return d == Postgres },
		"sqlite":   func() bool { return d == SQLite },
		// The database's clock, in Unix milliseconds.
		"now": func() string { return "(extract(epoch FROM clock_timestamp()) * 1000)::bigint" },
		// The type of a text that is compared byte by byte.
		"bytewise": func() string { return `text COLLATE "C"` },
		// The function that finds a text in another.
		"instr": func() string { return "strpos" },
		// That a value is in a JSON array of a type.
		"in": func(array, of string) string {
			return "= ANY (ARRAY(SELECT json_array_elements_text(" + array + "::text::json)::" + of + "))"
		},
		// A table e of the elements of a JSON array. Where they are arrays, e.value ->> 0 is the first value of one.
		"each": func(array string) string { return "jsonb_array_elements(" + array + "::text::jsonb) AS e (value)" },
	}
	if d == SQLite {
		words["now"] = func() string { return "CAST(round((julianday('now') - 2440587.5) * 86400000) AS integer)" }
		words["bytewise"] = func() string { return "text" }
		words["instr"] = func() string { return "instr" }
		words["in"] = func(array, _ string) string { return "IN (SELECT value FROM json_each(" + array + "))" }
		words["each"] = func(array string) string { return "json_each(" + array + ") AS e" }
	}
	return words
}

// named returns a text in which the names are those of the Config.
func (c Config) named(text string) string {
	prefix, schema := cmp.Or(c.Prefix, "rollcall_"), c.Schema
	if schema != "" {
		schema += "."
	}
	return ourName.ReplaceAllStringFunc(text, func(name string) string {
		if of, is := strings.CutSuffix(name, " rollcall_"); is {
			return of + " " + prefix
		}
		return schema + prefix
	})
}

// load returns the statements, by the names of their files, and the migrations.
func (c Config) load() (statements map[string]string, steps []Migration, err error) {
	all, err := template.New("").Funcs(c.Dialect.words()).ParseFS(texts, "sql/*.sql")
	if err != nil {
		return nil, nil, err
	}
	files, err := texts.ReadDir("sql") // sorted by name
	if err != nil {
		return nil, nil, err
	}
	statements = make(map[string]string)
	for _, f := range files {
		var out strings.Builder
		if err := all.ExecuteTemplate(&out, f.Name(), nil); err != nil {
			return nil, nil, err
		}
		text := out.String()
		for strings.HasPrefix(text, "--") { // its head
			_, text, _ = strings.Cut(text, "\n")
		}
		if c.Dialect == SQLite {
			text = parameter.ReplaceAllString(text, "?$1")
		}
		text = c.named(strings.TrimSpace(text))
		number, _, _ := strings.Cut(f.Name(), "_")
		if version, err := strconv.Atoi(number); err == nil {
			steps = append(steps, Migration{Version: version, Name: f.Name(), statements: strings.Split(strings.TrimSuffix(text, ";"), ";\n")})
		} else if text != "" { // or it is for the other dialect
			statements[strings.TrimSuffix(f.Name(), path.Ext(f.Name()))] = text
		}
	}
	return statements, steps, nil
}
