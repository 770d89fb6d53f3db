/** Arguments as a person reads them; what is no JSON stays as it came. */
export function readableArguments(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
