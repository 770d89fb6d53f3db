/* A pattern whose automaton needs a new state for nearly every index of a text, so that a search reaches its limit. */

export const statefulPattern = "[ab]{400}a[ab]*x!";

/** A fixed sequence of "a" and "b" without a period. */
export const statefulText = `${Array.from({ length: 60_000 }, (_, index) => (Math.sin(index * index) > 0 ? "a" : "b")).join("")}x!`;
