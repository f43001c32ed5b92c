package sqlstore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// A Migration is one step of the tables, for a site with a list of migrations of its own.
type Migration struct {
	Version int    // from 1, without gaps
	Name    string // of its file, such as "0001_first.sql"
	SQL     string // statements with semicolons, which note that the step is made

	statements []string // without that
}

// Migrations returns all steps, in their order. A site runs each step once, in a transaction. A step of a
// later version with the same number never differs; changes come as new steps. [Store.Migrate] then has
// nothing to do, and only reads. Migrations returns [presence.ErrInvalidConfig] with every problem.
func Migrations(config Config) ([]Migration, error) {
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("sqlstore: %w: %w", presence.ErrInvalidConfig, err)
	}
	statements, steps, err := config.load()
	if err != nil {
		return nil, err
	}
	for i, step := range steps {
		noted := config.named(fmt.Sprintf("INSERT INTO rollcall_migrations (version, name, applied_at) VALUES (%d, '%s', 0)", step.Version, step.Name))
		steps[i].SQL = strings.Join(slices.Concat([]string{statements["migrations"]}, step.statements, []string{noted}), ";\n") + ";\n"
	}
	return steps, nil
}
