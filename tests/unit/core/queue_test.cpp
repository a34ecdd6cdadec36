#include "server/core/schedule/queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <list>
#include <map>
#include <random>
#include <set>

namespace hotplate::core {
namespace {

JobQueue::Fit Always(const QueueEntry&) { return JobQueue::Fit::kYes; }

class QueueTest : public ::testing::Test {
 protected:
  QueueEntry& Push(int priority, std::uint64_t share, std::uint64_t devices = 1, std::uint64_t token = 0) {
    QueueEntry& entry = entries_.emplace_back();
    entry.token = token;
    entry.priority = priority;
    entry.sequence = entries_.size();
    entry.share = share;
    entry.devices = devices;
    queue_.Push(entry);
    return entry;
  }
  // The sequence of what comes next, 0 for nothing.
  std::uint64_t Pop(unsigned device = 0) {
    const QueueEntry* entry = queue_.Pop(device, false, false, Always);
    return entry == nullptr ? 0 : entry->sequence;
  }
  QueueEntry* Pop(absl::FunctionRef<JobQueue::Fit(QueueEntry&)> fits) {
    return queue_.Pop(0, /*for_worker=*/false, /*hold=*/true, fits);
  }
  // The run of an entry of this share is over.
  void Finish(std::uint64_t share, std::uint64_t token = 0) {
    QueueEntry entry;
    entry.share = share;
    entry.token = token;
    queue_.Finished(entry);
  }
  // A share of one of two tokens, each of which has several.
  QueueEntry& PushForToken(int priority, std::uint64_t share, std::uint64_t devices = 1) {
    return Push(priority, share, devices, TokenOf(share));
  }
  static std::uint64_t TokenOf(std::uint64_t share) { return 1 + share % 2; }

  std::deque<QueueEntry> entries_;
  std::uint64_t next_ = 1000;
  JobQueue queue_{1000};
};

TEST_F(QueueTest, FirstComeFirstServedWithinAShare) {
  for (int i = 0; i < 5; ++i) Push(0, 1);
  for (std::uint64_t i = 1; i <= 5; ++i) EXPECT_EQ(Pop(), i);
  EXPECT_EQ(Pop(), 0u);
  EXPECT_EQ(queue_.size(), 0u);
}

TEST_F(QueueTest, ThoseForWorkersAndThoseForLanesDoNotWaitForEachOther) {
  QueueEntry worker, lane;
  for (QueueEntry* const entry : {&worker, &lane}) {
    entry->sequence = ++next_;
    entry->share = entry->devices = 1;
    entry->workers = entry == &worker ? 2 : 0;
    queue_.Push(*entry);
  }
  EXPECT_EQ(queue_.Pop(0, /*for_worker=*/false, false, Always), &lane);
  EXPECT_EQ(queue_.Pop(0, /*for_worker=*/false, false, Always), nullptr);
  EXPECT_EQ(worker.overtaken, 0U) << "nobody has passed it";
  EXPECT_EQ(queue_.Pop(0, /*for_worker=*/true, false, Always), &worker);
  QueueEntry& other = Push(0, 1);
  worker.sequence = ++next_;
  queue_.Push(worker);
  queue_.Remove(worker);
  EXPECT_EQ(queue_.Pop(0, false, false, Always), &other);
  EXPECT_EQ(queue_.size(), 0U);
}

TEST_F(QueueTest, PriorityComesBeforeFairness) {
  Push(0, 1);
  Push(5, 2);
  Push(-5, 3);
  Push(5, 2);
  EXPECT_EQ(Pop(), 2u);
  EXPECT_EQ(Pop(), 4u);
  EXPECT_EQ(Pop(), 1u);
  EXPECT_EQ(Pop(), 3u);
}

TEST_F(QueueTest, TheShareWithFewestRunningIsNext) {
  for (int i = 0; i < 3; ++i) Push(0, 1);  // 1 2 3
  for (int i = 0; i < 3; ++i) Push(0, 2);  // 4 5 6
  EXPECT_EQ(Pop(), 1u);
  EXPECT_EQ(Pop(), 4u);  // share 1 runs one
  Finish(2);
  EXPECT_EQ(Pop(), 5u);  // share 2 runs none
  Finish(1);
  EXPECT_EQ(Pop(), 2u);
}

TEST_F(QueueTest, EqualSharesTakeTurnsWhenNothingRuns) {
  for (int i = 0; i < 4; ++i) Push(0, 1);  // 1 2 3 4
  for (int i = 0; i < 4; ++i) Push(0, 2);  // 5 6 7 8
  std::vector<std::uint64_t> order;
  for (int i = 0; i < 8; ++i) {
    const QueueEntry* entry = queue_.Pop(0, false, false, Always);
    ASSERT_NE(entry, nullptr);
    order.push_back(entry->sequence);
    queue_.Finished(*entry);
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{1, 5, 2, 6, 3, 7, 4, 8}));
}

TEST_F(QueueTest, SessionsOfOneTokenShareItsPart) {
  for (std::uint64_t share = 1; share <= 9; ++share) {
    for (int i = 0; i < 40; ++i) Push(0, share, 1, /*token=*/1);
  }
  for (int i = 0; i < 40; ++i) Push(0, 10, 1, /*token=*/2);
  std::map<std::uint64_t, int> of_token, of_share;
  for (int i = 0; i < 72; ++i) {
    const QueueEntry* entry = queue_.Pop(0, false, false, Always);
    ASSERT_NE(entry, nullptr);
    ++of_token[entry->token];
    ++of_share[entry->share];
    queue_.Finished(*entry);
  }
  EXPECT_EQ(of_token[1], 36);
  EXPECT_EQ(of_token[2], 36);
  for (std::uint64_t share = 1; share <= 9; ++share) EXPECT_EQ(of_share[share], 4) << share;
}

TEST_F(QueueTest, TheTokenWithFewestRunningIsNextWhateverItsSessionsRun) {
  Push(0, 1, 1, 1);
  Push(0, 2, 1, 1);
  Push(0, 3, 1, 2);
  EXPECT_EQ(Pop(), 1u);
  EXPECT_EQ(Pop(), 3u) << "share 2 runs none, but its token one";
  EXPECT_EQ(Pop(), 2u);
}

TEST_F(QueueTest, ANewcomerDoesNotGetTurnsForTheTimeItWasAway) {
  for (int i = 0; i < 100; ++i) Push(0, 1);
  for (int i = 0; i < 50; ++i) {
    ASSERT_NE(Pop(), 0u);
    Finish(1);
  }
  for (int i = 0; i < 50; ++i) Push(0, 2);
  std::map<std::uint64_t, int> served;
  for (int i = 0; i < 20; ++i) {
    const QueueEntry* entry = queue_.Pop(0, false, false, Always);
    ASSERT_NE(entry, nullptr);
    ++served[entry->share];
    queue_.Finished(*entry);
  }
  EXPECT_GE(served[1], 9);
  EXPECT_GE(served[2], 9);
}

TEST_F(QueueTest, DevicesTakeOnlyWhatMayRunOnThem) {
  Push(0, 1, 0b10);  // 1: device 1
  Push(0, 1, 0b01);  // 2: device 0
  Push(0, 1, 0b11);  // 3: either
  EXPECT_EQ(Pop(0), 2u);
  EXPECT_EQ(Pop(0), 3u);
  EXPECT_EQ(Pop(0), 0u);
  EXPECT_EQ(Pop(1), 1u);
}

TEST_F(QueueTest, WhatIsTakenOutIsGone) {
  QueueEntry& first = Push(0, 1);
  QueueEntry& middle = Push(0, 1);
  QueueEntry& last = Push(0, 1);
  queue_.Remove(middle);
  EXPECT_FALSE(middle.queued);
  EXPECT_EQ(queue_.size(), 2u);
  EXPECT_EQ(queue_.Ahead(last).all(), 1u);
  queue_.Remove(first);
  EXPECT_EQ(Pop(), last.sequence);
  EXPECT_EQ(Pop(), 0u);
  queue_.Push(middle);  // may come back
  EXPECT_EQ(Pop(), middle.sequence);
}

TEST_F(QueueTest, AHeadWithoutRoomIsPassedButNotForEver) {
  QueueEntry& big = Push(0, 1);
  const auto small_only = [&](const QueueEntry& entry) {
    return &entry == &big ? JobQueue::Fit::kNo : JobQueue::Fit::kYes;
  };
  for (std::uint32_t i = 0; i < JobQueue::kMaxOvertaken; ++i) {
    Push(0, 2);
    ASSERT_NE(queue_.Pop(0, false, /*hold=*/true, small_only), nullptr) << i;
    Finish(2);
  }
  Push(0, 2);
  EXPECT_EQ(queue_.Pop(0, false, /*hold=*/true, small_only), nullptr)
      << "the device is held for the one that waited so long";
  EXPECT_NE(queue_.Pop(0, false, /*hold=*/false, small_only), nullptr) << "waiting would not help where nothing runs";
  Finish(2);
  EXPECT_EQ(queue_.Pop(0, false, true, Always), &big);
}

TEST_F(QueueTest, SmallerJobsOfTheSameLineDoNotPass) {
  QueueEntry& big = Push(0, 1);
  Push(0, 1);
  EXPECT_EQ(Pop([&](const QueueEntry& entry) { return &entry == &big ? JobQueue::Fit::kNo : JobQueue::Fit::kYes; }),
            nullptr);
}

TEST_F(QueueTest, OthersOfTheSameLinePassOneThatWaitsForItsKind) {
  QueueEntry &first = Push(0, 1), &second = Push(0, 1);
  first.kind = second.kind = 7;
  const auto others_only = [&](const QueueEntry& entry) {
    return entry.kind == 7 ? JobQueue::Fit::kWaitsForItsKind : JobQueue::Fit::kYes;
  };
  EXPECT_EQ(Pop(others_only), nullptr);
  for (std::uint32_t i = 0; i < 2 * JobQueue::kMaxOvertaken; ++i) {
    QueueEntry& other = Push(0, 1);
    ASSERT_EQ(Pop(others_only), &other) << i;
    Finish(1);
  }
  EXPECT_EQ(first.overtaken, 0U) << "keeping the device free for it would not help";
  for (int i = 0; i < JobQueue::kMostLookedBehind; ++i) Push(0, 2).kind = 7;
  Push(0, 2);
  EXPECT_EQ(Pop(others_only), nullptr) << "that one is too far behind";
}

TEST_F(QueueTest, ASessionOfTwoTokensIsTwoShares) {
  Push(0, 1, 1, /*token=*/1);
  Push(0, 1, 1, /*token=*/2);
  Push(0, 7, 1, /*token=*/2);
  EXPECT_EQ(Pop(), 1u);
  EXPECT_EQ(Pop(), 2u);
  Finish(1, 1);
  Finish(1, 2);
  EXPECT_EQ(queue_.Ahead(entries_[2]).all(), 0U) << "the account of its token is still there";
  EXPECT_EQ(Pop(), 3u);
}

TEST_F(QueueTest, ANewSessionIsServedBesideTheOthersOfItsToken) {
  for (int i = 0; i < 1000; ++i) Push(0, 1, 1, 1);
  for (std::uint64_t share = 2; share <= 3; ++share) {
    for (int i = 0; i < 1000; ++i) Push(0, share, 1, 2);
  }
  for (int i = 0; i < 800; ++i) {
    const QueueEntry* entry = queue_.Pop(0, false, false, Always);
    ASSERT_NE(entry, nullptr);
    queue_.Finished(*entry);
  }
  QueueEntry& late = Push(0, 4, 1, 2);
  EXPECT_LE(queue_.Ahead(late).all(), 6U);
  int before = 0;
  for (QueueEntry* entry = nullptr; entry != &late; ++before) {
    entry = queue_.Pop(0, false, false, Always);
    queue_.Finished(*entry);
  }
  EXPECT_LE(before, 7) << "and not behind as many as the other token was served";
}

TEST_F(QueueTest, IsBounded) {
  JobQueue small(2);
  QueueEntry a, b;
  a.devices = b.devices = 1;
  small.Push(a);
  EXPECT_FALSE(small.full());
  small.Push(b);
  EXPECT_TRUE(small.full());
  small.Remove(a);
  EXPECT_FALSE(small.full());
  small.Remove(b);
}

TEST_F(QueueTest, AheadAreThoseOfHigherPriorityAndThoseThatCameBefore) {
  QueueEntry& low = Push(-1, 1);
  QueueEntry& first = Push(0, 1);
  QueueEntry& second = Push(0, 2);
  QueueEntry& high = Push(9, 2);
  QueueEntry& elsewhere = Push(9, 2, 0b10);
  EXPECT_EQ(queue_.Ahead(high).all(), 0u);
  EXPECT_EQ(queue_.Ahead(first).of_higher_priority, 1u);
  EXPECT_EQ(queue_.Ahead(second).of_others, 1u);
  EXPECT_EQ(queue_.Ahead(second).all(), 2u);
  EXPECT_EQ(queue_.Ahead(low).all(), 3u);
  EXPECT_EQ(queue_.Ahead(elsewhere).all(), 0u) << "nobody else wants to that device";
}

// The order that is told must be the one that comes.
TEST_F(QueueTest, WhoIsAheadComesFirst) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<QueueEntry*> pushed;
    const bool of_two = round % 2 == 1;
    for (int i = 0; i < 60; ++i) {
      const int priority = static_cast<int>(random() % 2);
      const std::uint64_t share = random() % 4;
      pushed.push_back(of_two ? &PushForToken(priority, share) : &Push(priority, share));
    }
    for (int i = 0; i < 20; ++i) {  // some leave
      QueueEntry*& one = pushed[random() % pushed.size()];
      if (one->queued) queue_.Remove(*one);
    }
    QueueEntry* asker = nullptr;
    while (asker == nullptr || !asker->queued) asker = pushed[random() % pushed.size()];
    const std::vector<const QueueEntry*> foretold = queue_.FirstAhead(*asker, 1000);
    // Ties between tokens are estimated: off by one.
    EXPECT_NEAR(queue_.Ahead(*asker).all(), foretold.size(), of_two ? 1 : 0);
    EXPECT_EQ(queue_.FirstAhead(*asker, 3).size(), std::min<std::size_t>(3, foretold.size()));
    std::size_t came = 0;
    while (QueueEntry* const next = queue_.Pop(0, false, false, Always)) {
      queue_.Finished(*next);
      if (next == asker) break;
      ASSERT_LT(came, foretold.size());
      EXPECT_EQ(foretold[came++], next) << round;
    }
    EXPECT_EQ(came, foretold.size());
    while (QueueEntry* const next = queue_.Pop(0, false, false, Always)) queue_.Finished(*next);
  }
}

TEST_F(QueueTest, KindsAheadAddUp) {
  for (int i = 0; i < 300; ++i) {
    QueueEntry& entry = entries_.emplace_back();
    entry.sequence = entries_.size();
    entry.share = entry.devices = 1;
    entry.kind = i % 3 == 0 ? 7 : 8;
    queue_.Push(entry);
  }
  QueueEntry& last = Push(0, 1);
  std::map<RunTimes::Kind, double> kinds;
  queue_.KindsAhead(last, [&](RunTimes::Kind kind, double number) { kinds[kind] += number; });
  EXPECT_NEAR(kinds[7], 100, 1);
  EXPECT_NEAR(kinds[8], 200, 1);
  queue_.Remove(entries_[0]);
  kinds.clear();
  queue_.KindsAhead(last, [&](RunTimes::Kind kind, double number) { kinds[kind] += number; });
  EXPECT_NEAR(kinds[7] + kinds[8] + kinds[0], 299, 1);
}

TEST(KindCountsTest, KindsBeyondTheFirstFewAreOneNumber) {
  KindCounts counts;
  const auto sum = [&] {
    std::uint32_t all = counts.others();
    for (const auto& [kind, number] : counts.by_kind()) all += number;
    return all;
  };
  const RunTimes::Kind many = 3 * KindCounts::kMostKinds;
  for (RunTimes::Kind kind = 1; kind <= many; ++kind) counts.Add(kind);
  EXPECT_EQ(sum(), many);
  EXPECT_EQ(counts.by_kind().size(), KindCounts::kMostKinds);
  counts.Take(1);  // a place for another kind
  counts.Add(many);
  for (RunTimes::Kind kind = many; kind >= 2; --kind) counts.Take(kind);
  counts.Take(many);
  EXPECT_EQ(sum(), 0U);
}

TEST(RanksTest, CountsThoseThatAreStillThere) {
  Ranks ranks;
  std::vector<std::size_t> places;
  for (std::uint64_t i = 0; i < 1000; ++i) places.push_back(ranks.Append(10 * i));
  EXPECT_EQ(ranks.Before(places[999]), 999U);
  for (std::size_t i = 0; i < 1000; i += 2) ranks.Leave(places[i]);
  EXPECT_EQ(ranks.present(), 500U);
  EXPECT_EQ(ranks.Before(places[999]), 499U);
  EXPECT_EQ(ranks.Before(places[1]), 0U);
  EXPECT_EQ(ranks.BeforeSequence(10 * 501), 250U);
  EXPECT_EQ(ranks.Before(ranks.Append(1)), 500U) << "one that comes late stands at the end";
  EXPECT_FALSE(ranks.IsSparse());
  for (std::size_t i = 1; i < 400; i += 2) ranks.Leave(places[i]);
  EXPECT_TRUE(ranks.IsSparse());
}

TEST_F(QueueTest, ALineThatIsMostlyLeftKeepsItsOrder) {
  QueueEntry& first = Push(0, 1);
  for (int i = 0; i < 500; ++i) queue_.Remove(Push(0, 1));
  QueueEntry& second = Push(0, 1);
  for (int i = 0; i < 500; ++i) queue_.Remove(Push(0, 1));
  QueueEntry& third = Push(0, 1);
  EXPECT_EQ(queue_.Ahead(first).all(), 0U);
  EXPECT_EQ(queue_.Ahead(second).all(), 1U);
  EXPECT_EQ(queue_.Ahead(third).all(), 2U);
}

// Against a plain list and the four rules, spelled out the slow way.
TEST_F(QueueTest, AgreesWithTheRulesOnRandomTraffic) {
  std::mt19937 random(20240611);
  std::list<QueueEntry*> waiting;
  std::map<std::uint64_t, int> running, token_running;
  std::vector<std::uint64_t> started;
  int pops = 0;
  for (int step = 0; step < 20'000; ++step) {
    const unsigned what = random() % 10;
    if (what < 5 && !queue_.full()) {
      waiting.push_back(&PushForToken(static_cast<int>(random() % 3), random() % 4, 1 + random() % 3));
    } else if (what < 6 && !waiting.empty()) {
      auto at = waiting.begin();
      std::advance(at, random() % waiting.size());
      queue_.Remove(**at);
      waiting.erase(at);
    } else if (what < 8 && !started.empty()) {
      const std::size_t at = random() % started.size();
      Finish(started[at], TokenOf(started[at]));
      --running[started[at]];
      --token_running[TokenOf(started[at])];
      started.erase(started.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      const unsigned device = random() % 2;
      QueueEntry* popped = queue_.Pop(device, false, false, Always);
      std::list<QueueEntry*> candidates;
      for (QueueEntry* entry : waiting) {
        if (entry->devices >> device & 1) candidates.push_back(entry);
      }
      ASSERT_EQ(popped == nullptr, candidates.empty());
      if (popped == nullptr) continue;
      for (const QueueEntry* other : candidates) {
        ASSERT_LE(other->priority, popped->priority);
        if (other->priority < popped->priority) continue;
        ASSERT_GE(token_running[other->token], token_running[popped->token]);
        if (other->token != popped->token) continue;
        ASSERT_GE(running[other->share], running[popped->share]);
        if (other->share == popped->share) {
          ASSERT_GE(other->sequence, popped->sequence);
        }
      }
      ++pops;
      waiting.remove(popped);
      ++running[popped->share];
      ++token_running[popped->token];
      started.push_back(popped->share);
    }
    ASSERT_EQ(queue_.size(), waiting.size());
  }
  EXPECT_GT(pops, 1000);
}

}  // namespace
}  // namespace hotplate::core
