// patient returns a page that shows a leave so many milliseconds later, and not at all if the user
// is back by then.
export function patient(milliseconds, { all, join, leave }) {
  const shown = new Set();
  const leaving = new Map(); // user → timer
  const arrive = (user) => {
    clearTimeout(leaving.get(user));
    leaving.delete(user);
    shown.add(user);
  };
  const depart = (user) => {
    if (!shown.has(user) || leaving.has(user)) return;
    leaving.set(user, setTimeout(() => {
      leaving.delete(user);
      shown.delete(user);
      leave(user);
    }, milliseconds));
  };
  return {
    all(users) {
      const there = new Set(users);
      there.forEach(arrive);
      all(shown);
      for (const user of shown) if (!there.has(user)) depart(user);
    },
    join(user) {
      arrive(user);
      join(user);
    },
    leave: depart,
  };
}
