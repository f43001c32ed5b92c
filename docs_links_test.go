package rollcall_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

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
