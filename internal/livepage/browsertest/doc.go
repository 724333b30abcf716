// Package browsertest drives a real browser, for tests of pages: Chromium, by its
// protocol.
package browsertest
