import { memo, useLayoutEffect, useRef, useState } from "react";
import { createStreamingSplitter } from "../text/split-text.ts";

interface LongTextProps {
  text: string;
  /** Monospaced, for code. */
  mono?: boolean | undefined;
  label?: string | undefined;
}

/** Plain text of any length. While it grows, only its last piece is rerendered. */
export function LongText({ text, mono, label }: LongTextProps) {
  const [splitIntoPieces] = useState(createStreamingSplitter);
  const { pieces } = splitIntoPieces(text);
  // A scrollable area must be focusable, so that it can be scrolled by keyboard.
  const isScrollable = pieces.length > 1 || text.length > 1000 || text.split("\n").length > 16;
  return (
    <div
      className="blocks-text"
      data-mono={mono || undefined}
      dir="auto"
      role={label === undefined ? undefined : "group"}
      aria-label={label}
      tabIndex={isScrollable ? 0 : undefined}
    >
      {pieces.map((piece, index) => (
        <TextPiece key={index} text={piece} />
      ))}
    </div>
  );
}

const TextPiece = memo(function TextPiece({ text }: { text: string }) {
  return <span>{text}</span>;
});

interface StreamingTextProps {
  text: string;
  label?: string;
}

/** While text streams, only this many characters are rendered, so that the cost per chunk does not grow with the text. */
const maxTailLength = 4000;

/** The end of a tool's streaming output. Stays scrolled to its end unless the user scrolls up. */
export function StreamingText({ text, label }: StreamingTextProps) {
  const element = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const tail = truncateToTail(text);
  useLayoutEffect(() => {
    if (element.current !== null && isAtEnd.current)
      element.current.scrollTop = element.current.scrollHeight;
  });
  return (
    <div
      ref={element}
      className="blocks-text blocks-streaming"
      data-mono
      dir="auto"
      role={label === undefined ? undefined : "group"}
      aria-label={label}
      // A scrollable area must be focusable, so that it can be scrolled by keyboard.
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 8;
      }}
    >
      {tail}
    </div>
  );
}

/** Starts the tail at a line break if there is one in its first half. */
function truncateToTail(text: string): string {
  if (text.length <= maxTailLength) return text;
  const tail = text.slice(-maxTailLength);
  const lineBreak = tail.indexOf("\n");
  return `…${lineBreak < 0 || lineBreak > maxTailLength / 2 ? tail : tail.slice(lineBreak)}`;
}
