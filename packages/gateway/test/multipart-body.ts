/** One field of a multipart body. */
export function field(name: string, value: string | Buffer, more = ""): Buffer {
  const head = `--line\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(value), Buffer.from("\r\n")]);
}

export const file = (bytes: Buffer): Buffer =>
  field("file", bytes, '; filename="a.wav"\r\ncontent-type: audio/wav');

export const upload = (...fields: Buffer[]): Buffer =>
  Buffer.concat([...fields, Buffer.from("--line--\r\n")]);

export const multipart = { "content-type": "multipart/form-data; boundary=line" };
