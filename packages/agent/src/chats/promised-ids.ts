import type { EditWorld } from "@deltawire/tasks/chats";

/** The ids of chats that are made under a promise: whoever asks for them again finds them by these. */
export function* promisedIds(first: string): Generator<string, never> {
  yield first;
  for (let number = 2; ; number += 1) yield `${first}_${number}`;
}

/** Makes chats of the promised ids, in their order; everything else has an id of its own. */
export function promisingWorld(world: EditWorld, first: string): EditWorld {
  const ids = promisedIds(first);
  return {
    ...world,
    newId: (prefix) => (prefix === "chat" ? ids.next().value : world.newId(prefix)),
  };
}
