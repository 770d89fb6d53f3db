/** Formats one field of a multipart body. */
export function formatField(name: string, value: string | Buffer, more = ""): Buffer {
  const head = `--line\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(value), Buffer.from("\r\n")]);
}

export const formatFile = (bytes: Buffer): Buffer =>
  formatField("file", bytes, '; filename="a.wav"\r\ncontent-type: audio/wav');

export const formatUpload = (...fields: Buffer[]): Buffer =>
  Buffer.concat([...fields, Buffer.from("--line--\r\n")]);

export const multipartHeaders = { "content-type": "multipart/form-data; boundary=line" };
