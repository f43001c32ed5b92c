package sqlstore

import (
	"cmp"
	"embed"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// texts are the statements and the migrations. Those for one dialect stand in a folder of
// its name, those for both above. Parameters are written as PostgreSQL has them.
//
//go:embed sql
var texts embed.FS

var parameter = regexp.MustCompile(`\$([0-9]+)`)

// Names in the files. The names of a new index and of a trigger have no schema, because they get that of their
// table.
var ourName = regexp.MustCompile(`(INDEX |TRIGGER )?rollcall_`)

// validName matches what a Config may choose for a part of names.
var validName = regexp.MustCompile(`^([a-z_][a-z0-9_]{0,31})?$`)

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

// text returns the content of a file for the database, without its head.
func (c Config) text(file string) (string, error) {
	all, err := texts.ReadFile(file)
	if err != nil {
		return "", err
	}
	s := string(all)
	for strings.HasPrefix(s, "--") {
		_, s, _ = strings.Cut(s, "\n")
	}
	if c.Dialect == SQLite {
		s = parameter.ReplaceAllString(s, "?$1")
	}
	return c.named(strings.TrimSpace(s)), nil
}

// numbered reports whether a file is a migration, and not a statement.
func numbered(file string) bool { return file[0] >= '0' && file[0] <= '9' }

func loadStatements(c Config) (map[string]string, error) {
	all := make(map[string]string)
	for _, folder := range []string{"sql", "sql/" + string(c.Dialect)} {
		files, err := fs.ReadDir(texts, folder)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if f.IsDir() || numbered(f.Name()) {
				continue
			}
			text, err := c.text(path.Join(folder, f.Name()))
			if err != nil {
				return nil, err
			}
			all[strings.TrimSuffix(f.Name(), ".sql")] = text
		}
	}
	return all, nil
}

func loadMigrations(c Config) ([]Migration, error) {
	files, err := fs.ReadDir(texts, "sql/"+string(c.Dialect)) // sorted by name
	if err != nil {
		return nil, err
	}
	var all []Migration
	for _, f := range files {
		if !numbered(f.Name()) {
			continue
		}
		text, err := c.text(path.Join("sql", string(c.Dialect), f.Name()))
		if err != nil {
			return nil, err
		}
		number, _, _ := strings.Cut(f.Name(), "_")
		version, err := strconv.Atoi(number)
		if err != nil {
			return nil, err
		}
		all = append(all, Migration{Version: version, Name: f.Name(), statements: strings.Split(strings.TrimSuffix(text, ";"), ";\n")})
	}
	return all, nil
}
