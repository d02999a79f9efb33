"""The loop. Reading, explaining and drawing run at the same time, each in its own thread.

    source ─ read, prepare ─▶ frames ─ explain ─▶ results ─ draw, write ─▶ sinks
              thread                   thread              calling thread

The frames of a file are read and preprocessed one ahead. A live source has its own thread and keeps only the
newest frame, so the explaining thread reads from it directly: a queued frame would be out of date. For the
same reason it reads the next frame only when the previous result is being drawn, and waits until the sinks
are almost ready. With slow sinks the network idles: every explained frame is shown.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..draw import smoothing, views
from ..draw.overlay import Overlay
from ..draw.renderer import Renderer, RenderOptions
from ..errors import FastcamError
from ..explainer import Explainer
from ..image import Array
from ..sinks import Sink, Status
from ..sources import Source
from .backpressure import HandoffQueue, ReadDelay
from .chosen_box import ChoiceExplainer
from .controls import Choice, Controls
from .evidence import Evidence
from .metrics import LoopMetrics
from .pause import Pause, State
from .presenter import Presenter, Read, Result

logger = logging.getLogger(__name__)

_TICK = 0.05
"""Seconds between two checks of the controls while no result arrives."""
_IDLE_SECONDS = 5.0
"""Seconds that the session of a view stays open after the user left it, so that going back is quick."""
_LEFT_SECONDS = 1.0
"""Seconds after which it is closed as soon as a third session is needed."""
_JOIN_SECONDS = 5.0
"""How long a thread may take to finish its frame at the end."""


@dataclass(frozen=True)
class LoopOptions:
    """How the loop runs.

    Args:
        every: Compute maps for every n-th frame; the others show the latest maps.
        smooth: Weight of earlier maps in the displayed one, from 0 to below 1. Photos are never smoothed.
        frames: Stop after this many frames; None for all.
        caption: Where the label and the figures go: `below` the frame, `inside` it, or `none`.
        legend: Draw a colour bar.
    """

    every: int = 1
    smooth: float = smoothing.DEFAULT
    frames: int | None = None
    caption: str = RenderOptions.caption
    legend: bool = False

    def __post_init__(self) -> None:
        for name, value in (("every", self.every), ("frames", self.frames)):
            if value is not None and value < 1:
                raise FastcamError(f"{name} is {value}: at least 1 is needed")
        self.rendering(stills=False)  # validates the rest

    def rendering(self, *, stills: bool) -> RenderOptions:
        """The options that concern drawing."""
        return RenderOptions(self.smooth, self.caption, self.legend, stills)


class Loop:
    """Reads, explains, draws and writes until the source ends or a stop is requested.

    Args:
        explainer: The model.
        source: Where frames come from; closed at the end.
        sinks: Where pictures go; all are closed at the end, also after an error.
        controls: The view, the class, pause and stop.
        overlay: Colours and blending.
        options: Everything else.
        metrics: Counts and latencies; given if a sink shows them.
        evidence: Keeps the frames that a user requests; closed at the end.
    """

    def __init__(
        self,
        explainer: Explainer,
        source: Source,
        sinks: Sequence[Sink],
        controls: Controls,
        overlay: Overlay | None = None,
        options: LoopOptions | None = None,
        metrics: LoopMetrics | None = None,
        evidence: Evidence | None = None,
    ) -> None:
        self._explainer = explainer
        self._explain_choice = ChoiceExplainer(explainer)
        self._source = source
        self._sinks = sinks
        self._controls = controls
        self._options = options or LoopOptions()
        if source.stills:  # photos are unrelated to each other
            self._options = replace(self._options, every=1, smooth=0.0)
        renderer = Renderer(overlay or Overlay(), self._options.rendering(stills=source.stills))
        recording = source.live and not all(sink.interactive for sink in sinks)
        self._pause: Pause[Read] = Pause(controls, recording=recording)
        self._presenter = Presenter(
            source, sinks, controls, self._pause, renderer, metrics or LoopMetrics(), evidence
        )
        self._evidence = evidence
        self._frames: HandoffQueue[Read] = HandoffQueue()
        self._results: HandoffQueue[Result] = HandoffQueue()
        self._read_delay = ReadDelay()
        self._maps: Mapping[str, Array] = {}
        """The latest maps."""
        self._explained: tuple[str, str | None] | None = None
        """The choice that the latest frame was explained for."""
        self._error: BaseException | None = None
        self._drawing_since = time.monotonic()
        """When drawing last asked for a result."""
        self._explaining_since: float | None = None
        """When the network was called; None while it is not at work."""

    @property
    def metrics(self) -> LoopMetrics:
        """Counts and latencies so far."""
        return self._presenter.metrics

    @property
    def last(self) -> Status | None:
        """The status of the latest picture; None before the first one."""
        return self._presenter.last

    @property
    def stuck_seconds(self) -> float:
        """Seconds in the same call of a sink or of the network. Waiting for a camera does not count."""
        explaining = self._explaining_since
        steps = [self._drawing_since, *([] if explaining is None else [explaining])]
        return time.monotonic() - min(steps)

    def run(self) -> LoopMetrics:
        """Run to the end. Call it once, and from the main thread if a sink is a window.

        Raises:
            FastcamError: The source, the model or a sink failed. Recordings are finished first.
        """
        threads = [self._thread("explain", self._explain_all, self._results)]
        if not self._source.live:
            threads.append(self._thread("read", self._read_all, self._frames))
        started = time.monotonic()
        try:
            for thread in threads:
                thread.start()
            self._draw_all()
        finally:
            self.metrics.seconds = time.monotonic() - started
            self._close(threads)
        if self._error is not None:
            raise self._error
        return self.metrics

    def _read_all(self) -> None:
        while (read := self._read()) is not None and self._frames.put(read):
            pass

    def _read(self) -> Read | None:
        frame = self._source.read()
        if frame is None:
            return None
        age = 1e3 * (time.monotonic() - frame.time)
        return Read(frame, age, self._explainer.preprocess(frame.image))

    def _explain_all(self) -> None:
        next_frame = self._read if self._source.live else self._frames.get
        choice: Choice | None = None
        since_maps = 0
        count = 0
        last: Read | None = None
        while count != self._options.frames and (read := next_frame()) is not None:
            asked = self._controls.choice
            since_maps = 0 if asked != choice else since_maps + 1
            result = self._explain(read, asked, with_maps=since_maps % self._options.every == 0)
            given = time.monotonic()
            if not self._give(result):
                return
            if self._source.live:
                self._read_delay.learn(time.monotonic() - given)
            if self._controls.stop.wait(self._read_delay.seconds):
                return
            count += 1
            last = read
            choice = self._hold(read, asked)
        if self._controls.stop.is_set() or count == self._options.frames:
            return
        watched = self._source.stills and any(sink.interactive for sink in self._sinks)
        if watched and last is not None and choice is not None:
            hints = [sink.stop_hint for sink in self._sinks if sink.stop_hint]
            logger.info("the last picture stays until you press %s", " or ".join([*hints, "Ctrl-C here"]))
            self._pause.keep_last_photo()
            self._hold(last, choice)

    def _explain(self, read: Read, choice: Choice, *, with_maps: bool, again: bool = False) -> Result:
        view, of_class = choice.subject
        cold, self._explained = choice.subject != self._explained, choice.subject
        if cold:  # make room before another network is opened
            self._explainer.model.close_idle(_LEFT_SECONDS)
        model = self._explainer.model
        chosen = of_class is not None or (choice.box is not None and model.has_class_maps)
        outputs = [views.output_of(view, model, of_class=chosen)] if with_maps else []
        self._explaining_since = time.monotonic()
        explanation = self._explain_choice(read.tensor, choice, outputs)
        self._explaining_since = None
        if with_maps:
            self._maps = explanation.maps
        explanation = replace(explanation, maps=self._maps)
        return Result(read, explanation, choice, again, cold)

    def _give(self, result: Result) -> bool:
        """Queue a result for drawing; False once drawing has ended.

        With a live source, wait until it is taken: a frame read earlier would only get older.
        """
        return self._results.put(result) and (not self._source.live or self._results.wait_free())

    def _hold(self, read: Read, shown: Choice) -> Choice | None:
        """Stay with this frame while the loop is frozen, and explain the held frame again for a new choice.

        Returns the choice that the latest maps are for; None if they belong to another frame.
        """
        while (asked := self._pause.wait(shown)) is not None:
            shown = asked
            if not self._give(self._explain(read, shown, with_maps=True, again=True)):
                break
        held = self._pause.held_frame(read, shown)
        if held is None:
            return shown
        # Later frames have overwritten its input tensor.
        held = replace(held, tensor=self._explainer.preprocess(held.frame.image))
        self._give(self._explain(held, shown, with_maps=True, again=True))
        return None

    def _draw_all(self) -> None:
        while not self._controls.stop.is_set() and not self._results.over:
            self._drawing_since = time.monotonic()
            result = self._results.get(_TICK)
            if result is not None:
                self._presenter.show(result)
            elif self._pause.state is not State.RUNNING:
                self._presenter.refresh()
            self._presenter.save_if_asked()
            self._explainer.model.close_idle(_IDLE_SECONDS)

    def _thread(self, name: str, work: Callable[[], None], output: HandoffQueue[Any]) -> threading.Thread:
        """A thread that ends its output queue when it is done or has failed; queued items are still shown."""

        def guarded() -> None:
            try:
                work()
            except BaseException as error:  # `run` raises it again in the caller's thread
                # An error during shutdown is a consequence of the shutdown.
                if not self._controls.stop.is_set():
                    self._error = self._error or error
            finally:
                output.end()

        return threading.Thread(target=guarded, name=f"fastcam {name}", daemon=True)

    def _close(self, threads: Sequence[threading.Thread]) -> None:
        """Stop the threads, then close the sinks; the first error is the one to report."""
        self._controls.request_stop()
        self._frames.drop()
        self._results.drop()
        sinks = [*self._sinks, *([self._evidence] if self._evidence else [])]
        for close in (self._source.close, *(sink.close for sink in sinks)):
            try:
                close()
            except Exception as error:
                self._error = self._error or error
        for thread in threads:
            if thread.is_alive():
                thread.join(_JOIN_SECONDS)
