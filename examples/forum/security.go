package main

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
)

// contentPolicy allows only what this site serves itself, and nothing inline. The widget needs no more.
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

// secureHeaders sets the security headers of every answer.
func secureHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("Referrer-Policy", "same-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		return next(c)
	}
}

// ownForms refuses forms from pages of other sites.
func ownForms(next echo.HandlerFunc) echo.HandlerFunc {
	protection := http.NewCrossOriginProtection()
	return func(c echo.Context) error {
		if err := protection.Check(c.Request()); err != nil {
			return echo.NewHTTPError(http.StatusForbidden, "That form came from another site.")
		}
		return next(c)
	}
}

// ownLinks refuses a GET that a page of another site caused, for addresses that answer with a file of the
// reader's. A GET for an address that the reader typed comes from no site. Without TLS such a GET has neither
// Sec-Fetch-Site nor Origin; then its Referer counts.
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
