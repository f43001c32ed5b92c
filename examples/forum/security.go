package main

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
)

// contentPolicy allows what this site serves itself, and nothing inline: the
// widget needs no more.
var contentPolicy = strings.Join([]string{
	"default-src 'none'",
	"script-src 'self'",
	"style-src 'self'",
	"img-src 'self'",
	"connect-src 'self'",
	"form-action 'self'",
	"base-uri 'none'",
	"frame-ancestors 'none'",
}, "; ")

// secureHeaders sets on every answer what keeps a browser careful.
func secureHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("Referrer-Policy", "same-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		return next(c)
	}
}

// ownForms refuses forms that another site's page sent.
func ownForms(next echo.HandlerFunc) echo.HandlerFunc {
	protection := http.NewCrossOriginProtection()
	return func(c echo.Context) error {
		if err := protection.Check(c.Request()); err != nil {
			return echo.NewHTTPError(http.StatusForbidden, "That form came from another site.")
		}
		return next(c)
	}
}

// ownLinks refuses a GET that another site's page made a browser send, where the answer is a file
// of the reader's. An address that the reader typed is from no site. Without TLS such a GET has
// neither Sec-Fetch-Site nor Origin; then its Referer counts.
func ownLinks(next echo.HandlerFunc) echo.HandlerFunc {
	protection := http.NewCrossOriginProtection()
	return func(c echo.Context) error {
		asForm := c.Request().WithContext(c.Request().Context()) // a copy
		asForm.Method = http.MethodPost
		if from := asForm.Referer(); from != "" && asForm.Header.Get("Sec-Fetch-Site") == "" && asForm.Header.Get("Origin") == "" {
			if page, err := url.Parse(from); err == nil && page.Host != "" {
				asForm.Header = http.Header{"Origin": {page.Scheme + "://" + page.Host}}
			}
		}
		if err := protection.Check(asForm); err != nil {
			return echo.NewHTTPError(http.StatusForbidden, "That link was on a page of another site.")
		}
		return next(c)
	}
}
