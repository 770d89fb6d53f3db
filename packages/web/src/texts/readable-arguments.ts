import { revealed } from "./revealed.ts";

/** Arguments as a person reads them, who may have to judge them; what is no JSON stays as it came. Of JSON, JSON is made. */
export function readableArguments(json: string): string {
  try {
    return revealed(JSON.stringify(JSON.parse(json), null, 2));
  } catch {
    return revealed(json);
  }
}
