// Package tracktest is for the test of a site that shows presence.
//
// [Site] returns a tracker with the users online that a test wants:
//
//	func TestHome(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			tracker := tracktest.Site(t, presence.User{ID: "alice"})
//			… // the site with this tracker: its page shows Alice
//		})
//	}
//
// The tracker has a store in memory, runs the jobs, and ends with the test. [Stream] and
// [PageView] let further users come. A user with a stream leaves after the grace of 10 s
// when the stream is closed. A user of a page view leaves after [track.Config].Age, which
// is 5 minutes. In a bubble of [testing/synctest] a test skips these times with time.Sleep.
package tracktest
