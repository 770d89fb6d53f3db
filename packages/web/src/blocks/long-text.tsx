import { memo, useLayoutEffect, useRef, useState } from "react";
import { growingPieces } from "../texts/text-pieces.ts";

interface LongTextProps {
  text: string;
  /** As code is written; else as words are. */
  mono?: boolean | undefined;
  label?: string | undefined;
}

/** Text as it is, however long it is and while it grows: only its last piece is drawn again. */
export function LongText({ text, mono, label }: LongTextProps) {
  const [grow] = useState(growingPieces);
  const { pieces } = grow(text);
  // What may scroll has to be reached by the keyboard.
  const mayScroll = pieces.length > 1 || text.length > 1000 || text.split("\n").length > 16;
  return (
    <div
      className="blocks-text"
      data-mono={mono || undefined}
      dir="auto"
      role={label === undefined ? undefined : "group"}
      aria-label={label}
      tabIndex={mayScroll ? 0 : undefined}
    >
      {pieces.map((piece, at) => (
        <Piece key={at} text={piece} />
      ))}
    </div>
  );
}

const Piece = memo(function Piece({ text }: { text: string }) {
  return <span>{text}</span>;
});

interface GrowingTextProps {
  text: string;
  label?: string;
}

/** So much of the end is drawn while a text grows, so that one more word costs the same in a long text. */
const tailLength = 4000;

/** The end of a text that a tool is writing. It stays in view unless the reader has scrolled up. */
export function GrowingText({ text, label }: GrowingTextProps) {
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const tail = tailOf(text);
  useLayoutEffect(() => {
    if (box.current !== null && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
  });
  return (
    <div
      ref={box}
      className="blocks-text blocks-growing"
      data-mono
      dir="auto"
      role={label === undefined ? undefined : "group"}
      aria-label={label}
      // What may scroll has to be reached by the keyboard.
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 8;
      }}
    >
      {tail}
    </div>
  );
}

/** From the beginning of a line, where there is one. */
function tailOf(text: string): string {
  if (text.length <= tailLength) return text;
  const tail = text.slice(-tailLength);
  const line = tail.indexOf("\n");
  return `…${line < 0 || line > tailLength / 2 ? tail : tail.slice(line)}`;
}
