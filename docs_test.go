package rollcall_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sizes says how many bytes a document may have, so that somebody reads it. A name that ends
// in a slash means the pages in that directory, and none below it.
var sizes = []struct {
	name string
	most int
}{
	{"README.md", 12 << 10},
	{"ARCHITECTURE.md", 25 << 10},
	{"docs/", 12 << 10},
	{"bench/", 12 << 10},
}

// documents returns the text of each Markdown file of the repository, by its path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	eachFile(t, ".md", func(name, text string) { texts[name] = text })
	return texts
}

// eachFile calls fn for each file whose name ends in suffix.
func eachFile(t *testing.T, suffix string, fn func(name, text string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, suffix):
			return nil
		}
		text, err := os.ReadFile(name)
		if err == nil {
			fn(filepath.ToSlash(name), string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDocsSizes(t *testing.T) {
	for name, text := range documents(t) {
		for _, size := range sizes {
			if (name == size.name || path.Dir(name)+"/" == size.name) && len(text) > size.most {
				t.Errorf("%s has %d bytes, want %d at most: move what a reader needs later to a page of its own", name, len(text), size.most)
			}
		}
	}
}

var (
	fence     = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	codeSpan  = regexp.MustCompile("`[^`\n]*`")
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	ofHeading = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	page      = regexp.MustCompile(`[\w:./-]+\.md(?:#[\w-]+)?\b`)
)

// anchors returns the names of a text's headings, as GitHub makes them.
func anchors(text string) map[string]bool {
	names := make(map[string]bool)
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		title := link.ReplaceAllString(m[1], "")
		base := strings.ReplaceAll(ofHeading.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
		name := base
		for i := 1; names[name]; i++ {
			name = fmt.Sprintf("%s-%d", base, i)
		}
		names[name] = true
	}
	return names
}

// leads reports whether a link that stands in a document of dir leads to a file, and to a
// heading where it names one.
func leads(t *testing.T, texts map[string]string, dir, to string) bool {
	t.Helper()
	file, anchor, _ := strings.Cut(to, "#")
	file = path.Join(dir, file)
	if _, err := os.Stat(file); err != nil {
		return false
	}
	return anchor == "" || anchors(texts[file])[anchor]
}

// TestDocsLinks: each link of each document leads to a file and to a heading that are there.
func TestDocsLinks(t *testing.T) {
	texts := documents(t)
	for name, text := range texts {
		text = codeSpan.ReplaceAllString(fence.ReplaceAllString(text, ""), "")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if to := m[1]; strings.HasPrefix(to, "#") {
				if !anchors(texts[name])[to[1:]] {
					t.Errorf("%s: there is no heading %s", name, to)
				}
			} else if !strings.Contains(to, "://") && !leads(t, texts, path.Dir(name), to) {
				t.Errorf("%s: %s leads nowhere", name, to)
			}
		}
	}
}

// TestCodeLinks: what comments, messages and alerts name of our documents is there.
func TestCodeLinks(t *testing.T) {
	texts := documents(t)
	for _, suffix := range []string{".go", ".js", ".yml", ".html", ".json"} {
		eachFile(t, suffix, func(name, text string) {
			for _, to := range page.FindAllString(text, -1) {
				if _, ours, ok := strings.Cut(to, "rollcall-go/rollcall/blob/main/"); ok {
					to = ours
				} else if strings.Contains(to, "://") || !strings.ContainsAny(to, "/#") {
					continue // another's, or a word such as README.md
				}
				if !leads(t, texts, ".", to) && !leads(t, texts, path.Dir(name), to) {
					t.Errorf("%s: %s leads nowhere", name, to)
				}
			}
		})
	}
}

var namedFile = regexp.MustCompile("`([\\w./-]+\\.(?:go|js|lua|html|sh|yml|json|svg))`")

// TestDocsNameFiles: a file that a document names is there, somewhere. The decisions are as old as
// they are, and name the files of then.
func TestDocsNameFiles(t *testing.T) {
	var files []string
	for _, suffix := range []string{".go", ".js", ".lua", ".html", ".sh", ".yml", ".json", ".svg"} {
		eachFile(t, suffix, func(name, _ string) { files = append(files, "/"+name) })
	}
	for name, text := range documents(t) {
		if strings.HasPrefix(name, "docs/decisions/") || strings.HasPrefix(name, "bench/") {
			continue
		}
		for _, m := range namedFile.FindAllStringSubmatch(text, -1) {
			if !slices.ContainsFunc(files, func(file string) bool { return strings.HasSuffix(file, "/"+m[1]) }) {
				t.Errorf("%s names %s, and there is no such file", name, m[1])
			}
		}
	}
}

// TestWalksNameCode: each station of the walks in ARCHITECTURE.md is a package, a function or a
// type that is there.
func TestWalksNameCode(t *testing.T) {
	var code strings.Builder
	eachFile(t, ".go", func(name, text string) {
		if !strings.HasSuffix(name, "_test.go") {
			code.WriteString(text)
		}
	})
	named := regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|type )(\w+)`)
	there := make(map[string]bool)
	for _, m := range named.FindAllStringSubmatch(code.String(), -1) {
		there[m[1]] = true
	}
	for _, p := range packages(t) {
		there[p.ImportPath], there[path.Base(p.ImportPath)] = true, true
	}
	stations := regexp.MustCompile(`(?m)^\| \d+ \| ([^|]*) \|`).FindAllStringSubmatch(documents(t)["ARCHITECTURE.md"], -1)
	if len(stations) < 20 {
		t.Errorf("got %d stations, want 20 or more", len(stations))
	}
	for _, station := range stations {
		for _, name := range codeSpan.FindAllString(station[1], -1) {
			name = strings.Trim(name, "`")
			if !there[name] && !there[name[strings.LastIndex(name, ".")+1:]] {
				t.Errorf("ARCHITECTURE.md: there is no %s", name)
			}
		}
	}
}

// TestFilesAreListed: where the doc comment of a package names its files, each file is in a row, and each row
// names files that are there.
func TestFilesAreListed(t *testing.T) {
	listed := make(map[string][]string) // patterns by directory
	eachFile(t, ".go", func(name, text string) {
		if _, rows, ok := strings.Cut(text, "\n// # Files\n//\n"); ok && !strings.HasSuffix(name, "_test.go") {
			rows, _, _ = strings.Cut(rows, "\n//\n")
			listed[path.Dir(name)] = regexp.MustCompile(`[\w*]+\.go\b`).FindAllString(rows, -1)
		}
	})
	if len(listed["presence/track"]) < 20 {
		t.Error("the doc comment of presence/track names no files")
	}
	for dir, patterns := range listed {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		used := make(map[string]bool)
		for _, entry := range entries {
			name := entry.Name()
			if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || name == "doc.go" {
				continue
			}
			found := false
			for _, pattern := range patterns {
				if ok, _ := path.Match(pattern, name); ok {
					used[pattern], found = true, true
				}
			}
			if !found {
				t.Errorf("the files of %s have no row for %s", dir, name)
			}
		}
		for _, pattern := range patterns {
			if !used[pattern] {
				t.Errorf("the files of %s have a row for %s, which is not there", dir, pattern)
			}
		}
	}
}

// TestPackagesAreListed: ARCHITECTURE.md says of each package what it is, and of none that is
// not there.
func TestPackagesAreListed(t *testing.T) {
	_, table, _ := strings.Cut(documents(t)["ARCHITECTURE.md"], "\n## Packages\n")
	table, _, _ = strings.Cut(table, "\n## ")
	listed := make(map[string]bool)
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?`) \\|").FindAllStringSubmatch(table, -1) {
		for _, name := range codeSpan.FindAllString(row[1], -1) {
			name = strings.Trim(name, "`")
			listed[name] = true
			if _, err := os.Stat(name); err != nil {
				t.Errorf("ARCHITECTURE.md lists %s, which is not there", name)
			}
		}
	}
	for _, p := range packages(t) {
		if name := strings.TrimSuffix(p.ImportPath, "/"); !listed[name] && !(listed["."] && name+"/" == module) {
			t.Errorf("ARCHITECTURE.md says nothing of %s", name)
		}
	}
}
