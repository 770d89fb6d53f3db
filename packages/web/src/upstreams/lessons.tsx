import { Button } from "../parts/button.tsx";
import { useWords } from "../words/use-words.ts";
import type { Lesson } from "./gateway-status.ts";
import { upstreamWords } from "./words.ts";

interface LessonsProps {
  lessons: readonly Lesson[];
  onForget: (upstream?: string) => void;
}

export function Lessons({ lessons, onForget }: LessonsProps) {
  const words = useWords(upstreamWords);
  const byUpstream = Map.groupBy(lessons, ({ upstream }) => upstream);
  return (
    <section className="upstreams-card" aria-label={words.lessons}>
      <header>
        <h2>{words.lessons}</h2>
        {byUpstream.size > 1 && (
          <Button small onClick={() => onForget()}>
            {words.forgetAll}
          </Button>
        )}
      </header>
      <p className="upstreams-quiet">
        {lessons.length === 0 ? words.noLessons : words.lessonsIntro}
      </p>
      {[...byUpstream].map(([upstream, those]) => (
        <div key={upstream} className="upstreams-lessons">
          <header>
            <h3>{upstream}</h3>
            <Button small kind="ghost" onClick={() => onForget(upstream)}>
              {words.forget}
            </Button>
          </header>
          <ul>
            {those.map(({ model, code, what, said }) => (
              <li key={`${model} ${code} ${what}`}>
                <code>{model}</code> {what}
                <small dir="auto">{words.said(said)}</small>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}
