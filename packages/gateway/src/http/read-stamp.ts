import { invalid } from "../tasks/body-fields.ts";

/** Of a change of a chat, as it stands in an address or in a header. */
export function readStamp(text: string, param: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw invalid(param, `expected the stamp of a change, got "${text.slice(0, 50)}"`);
}
