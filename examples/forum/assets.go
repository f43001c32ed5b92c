package main

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

//go:embed views/*.html
var views embed.FS

//go:embed static/forum.css static/icon.svg
var static embed.FS

// An asset is a file whose URL contains a hash of its content. So a browser may keep it for good, and new
// content has another URL.
type asset struct {
	path    string
	content []byte
}

// newAsset returns an embedded file as an asset. It panics if the name is not embedded.
func newAsset(name string) asset {
	content, err := static.ReadFile(name)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(content)
	ext := path.Ext(name)
	hashed := strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:6]) + ext
	return asset{path: "/" + hashed, content: content}
}

func (a asset) serve(c echo.Context) error {
	c.Response().Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(c.Response(), c.Request(), a.path, time.Time{}, bytes.NewReader(a.content))
	return nil
}
