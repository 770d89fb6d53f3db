/** What the page does with the address of a picture, a sound or a file: its policy lets nothing in from outside. */
export type Address =
  | { readonly is: "here"; readonly url: string }
  | { readonly is: "elsewhere"; readonly url: string; readonly host: string }
  | { readonly is: "unusable" };

export function addressOf(url: string): Address {
  if (/^\/(?![/\\])/.test(url) || /^(?:blob|data):/i.test(url)) return { is: "here", url };
  try {
    const { protocol, host } = new URL(url);
    if (protocol === "https:" || protocol === "http:") return { is: "elsewhere", url, host };
  } catch {
    // What is no address is none to open.
  }
  return { is: "unusable" };
}
