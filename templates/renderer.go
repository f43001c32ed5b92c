package templates

import (
	"io"
	"net/http"
)

// A Renderer executes templates for a framework whose context C has the request. With
// echo.Context it is an echo.Renderer. It may be used concurrently.
type Renderer[C interface{ Request() *http.Request }] struct {
	widgets *Widgets
}

// RendererFor returns the Renderer for a framework:
//
//	e.Renderer = templates.RendererFor[echo.Context](widgets)
func RendererFor[C interface{ Request() *http.Request }](widgets *Widgets) *Renderer[C] {
	return &Renderer[C]{widgets}
}

// Render writes the named template to w, as [Widgets.Execute] does.
func (r *Renderer[C]) Render(w io.Writer, name string, data any, c C) error {
	return r.widgets.Execute(w, name, data, c.Request())
}
