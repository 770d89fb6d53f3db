import { useWords } from "../words/use-words.ts";
import { composerWords } from "./composer-words.ts";

/** That this is a demo, and how a real model comes in its place. */
export function DemoHint({ className }: { className: string }) {
  const words = useWords(composerWords);
  return <p className={className}>{words.onlyDemo}</p>;
}
