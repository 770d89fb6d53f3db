/** Whether the first bytes of a file read as a text in UTF-8. A character may be cut at their end. */
export function isText(head: Uint8Array): boolean {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true });
    return !text.includes("\0");
  } catch {
    return false;
  }
}
