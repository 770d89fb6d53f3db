/** Closes a `switch` over one of our own unions: a member that was forgotten is a type error. */
export function unreachable(value: never): never {
  throw new TypeError(`unhandled case: ${JSON.stringify(value)}`);
}
