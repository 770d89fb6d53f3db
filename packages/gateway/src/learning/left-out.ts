import type { Profile } from "@deltawire/wire";
import type { Change, Tried } from "./lesson.ts";

/** The change that leaves them out, and says which. */
export function dropping(parameters: readonly string[], tried: Tried): Change | undefined {
  const flags = withoutParameters(parameters, tried);
  const dropped = flags?.droppedParameters ?? [];
  return flags && { flags, what: `does not take ${dropped.join(", ")}: left out` };
}

/** The flag that leaves out those of the parameters that were sent and can be left out. */
export function withoutParameters(
  parameters: readonly string[],
  { body, profile }: Tried,
): Partial<Profile> | undefined {
  const droppedParameters = [...new Set(parameters)].filter(
    (name) =>
      Object.hasOwn(body, name) &&
      !profile.droppedParameters.includes(name) &&
      !Object.hasOwn(profile.extraBody, name),
  );
  return droppedParameters.length === 0 ? undefined : { droppedParameters };
}
