/** What the page does with the address of a picture, a sound or a file: its policy lets nothing in from outside. */
export type Address =
  | { readonly is: "here"; readonly url: string }
  | { readonly is: "elsewhere"; readonly url: string; readonly host: string }
  | { readonly is: "unusable" };

/** Of the gateway's own paths only blobs: whatever else is asked for by a model's words is not for it to choose. */
export function addressOf(url: string): Address {
  if (isBlob(url) || picture.test(url)) return { is: "here", url };
  try {
    const { protocol, host } = new URL(url);
    if (protocol === "https:" || protocol === "http:") return { is: "elsewhere", url, host };
  } catch {
    // What is no address is none to open.
  }
  return { is: "unusable" };
}

/** Whether the gateway keeps what is there. */
export function isBlob(url: string): boolean {
  return /^\/api\/blobs\/[\w-]+$/.test(url);
}

/** One that its own address holds, of a type that has no scripts and no addresses in it. */
const picture = /^data:image\/(?:png|jpeg|gif|webp|avif)[;,]/i;
