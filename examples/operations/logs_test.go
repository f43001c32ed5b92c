package operations_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// levels are the methods that log.
var levels = []string{"Debug", "Info", "Warn", "Error", "Log", "LogAttrs", "DebugContext", "InfoContext", "WarnContext", "ErrorContext"}

// wrappers are the functions that pass a message on to a logger.
var wrappers = []string{"handlers/faultlog.go", "presence/track/finding.go"}

// Every message that the code logs stands in LOGS.md, and no other.
func TestLogs(t *testing.T) {
	text, err := os.ReadFile("LOGS.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]bool)
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, " | "); len(cells) == 3 && strings.HasPrefix(line, "| ") {
			listed[strings.TrimPrefix(cells[0], "| ")] = true
		}
	}
	delete(listed, "line")
	delete(listed, "presence: *the text of a finding*")
	found := make(map[string]string) // message, file
	for _, file := range sources(t) {
		messages, variable := logged(t, file)
		for _, m := range messages {
			found[m] = file
		}
		if variable > 0 && !slices.Contains(wrappers, file) {
			t.Errorf("%s logs a message that is not constant: give it a constant one, or name the file among wrappers", file)
		}
	}
	for message, file := range found {
		if !listed[message] {
			t.Errorf("%s logs %q, and LOGS.md does not say what to do", file, message)
		}
	}
	for message := range listed {
		if found[message] == "" {
			t.Errorf("LOGS.md lists %q, which nothing logs", message)
		}
	}
	if len(found) < 20 {
		t.Errorf("found %d messages, want 20 or more: %v", len(found), found)
	}
}

// sources returns the files of the library and the forum that are no tests, relative to
// the root.
func sources(t *testing.T) (files []string) {
	t.Helper()
	root := filepath.Join("..", "..")
	for _, dir := range []string{"presence", "handlers", "middleware", "templates", "jobs", "internal", "examples/forum"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && d.Name() == "testdata" {
				return err
			}
			name, _ := filepath.Rel(root, path)
			if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
				files = append(files, filepath.ToSlash(name))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// logged returns the constant messages that a file logs, and how many are not constant. A
// call logs if it calls a logger's method, or passes a text that begins as this library's
// lines do, and makes no error of it.
func logged(t *testing.T, file string) (messages []string, variable int) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		logs := slices.Contains(levels, method.Sel.Name) && isLogger(method.X)
		constant := false
		for _, arg := range call.Args {
			literal, ok := arg.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				continue
			}
			text, _ := strconv.Unquote(literal.Value)
			if logs && !constant || strings.HasPrefix(text, "presence: ") && !makesError(method) {
				messages = append(messages, text)
				constant = true
			}
		}
		if logs && !constant || logs && !isLiteral(call.Args[0]) && len(call.Args) > 0 && !strings.HasPrefix(method.Sel.Name, "Log") {
			variable++
		}
		return true
	})
	return messages, variable
}

func isLiteral(e ast.Expr) bool {
	_, ok := e.(*ast.BasicLit)
	return ok
}

func makesError(method *ast.SelectorExpr) bool {
	pkg, _ := method.X.(*ast.Ident)
	return pkg != nil && (pkg.Name == "errors" || pkg.Name == "fmt")
}

// isLogger reports whether an expression is called as loggers are here.
func isLogger(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "slog" || e.Name == "log" || e.Name == "logger"
	case *ast.SelectorExpr:
		name := strings.ToLower(e.Sel.Name)
		return name == "log" || name == "logger"
	case *ast.CallExpr:
		method, ok := e.Fun.(*ast.SelectorExpr)
		return ok && (method.Sel.Name == "Default" || method.Sel.Name == "With") && isLogger(method.X)
	}
	return false
}
