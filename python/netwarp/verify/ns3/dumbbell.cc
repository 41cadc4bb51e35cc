// The dumbbell of netwarp's rows in ns-3: h1 - r1 - h2, TCP flows from h1 to h2, the bottleneck from r1 to h2.
//
// Usage: dumbbell CONTROL FLOWS RATE_BPS DELAY_NS LIMIT_PKTS WARMUP_NS DURATION_NS
// It prints lines of a label and a number: what was measured from the end of the warm-up to the end.
//
// A packet of ns-3's point-to-point device has 2 bytes of PPP where an Ethernet frame has 14. The rate is lower by the
// quotient of both sizes of a full packet, so that full packets take the same time in both programs.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <iostream>

using namespace ns3;

namespace {

const uint32_t kSegmentBytes = 1448;
const double kPppBytes = kSegmentBytes + 52 + 2;
const double kEthernetBytes = kSegmentBytes + 52 + 14;
const uint16_t kPort = 5000;

Time g_warmup;

// The time-weighted mean of a quantity that changes in steps, and its least value.
class Steps {
  public:
    void Set(double value)
    {
        Advance();
        m_value = value;
    }

    void Add(double change) { Set(m_value + change); }

    double Mean()
    {
        Advance();
        return m_sum / (Simulator::Now() - g_warmup).GetSeconds();
    }

    double Least()
    {
        Advance();
        return m_least;
    }

  private:
    // The value held since the last change; what was before the warm-up's end does not count.
    void Advance()
    {
        Time now = Simulator::Now(), from = std::max(m_since, g_warmup);
        if (now > from)
        {
            m_sum += m_value * (now - from).GetSeconds();
            m_least = std::min(m_least, m_value);
        }
        m_since = now;
    }

    double m_value = 0, m_sum = 0, m_least = 1e9;
    Time m_since;
};

Steps g_queue, g_window;

void QueueDiscChanged(uint32_t before, uint32_t after)
{
    g_queue.Add(static_cast<double>(after) - before);
}

void WindowChanged(uint32_t, uint32_t bytes)
{
    g_window.Set(static_cast<double>(bytes) / kSegmentBytes);
}

void WatchWindow()
{
    Config::ConnectWithoutContext("/NodeList/0/$ns3::TcpL4Protocol/SocketList/0/CongestionWindow",
                                  MakeCallback(&WindowChanged));
}

NetDeviceContainer Join(Ptr<Node> from, Ptr<Node> to, double bps, Time delay)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(bps))));
    link.SetChannelAttribute("Delay", TimeValue(delay));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
    return link.Install(from, to);
}

void SetTcp(const std::string& control)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + control)));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TypeId::LookupByName("ns3::TcpPrrRecovery")));
    Config::SetDefault("ns3::TcpCubic::FastConvergence", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kSegmentBytes));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 24));
}

} // namespace

int main(int argc, char* argv[])
{
    if (argc != 8)
    {
        std::cerr << "usage: dumbbell CONTROL FLOWS RATE_BPS DELAY_NS LIMIT_PKTS WARMUP_NS DURATION_NS\n";
        return 2;
    }
    const int flows = std::stoi(argv[2]);
    const double bps = std::stod(argv[3]) * kPppBytes / kEthernetBytes;
    const Time delay = NanoSeconds(std::stoll(argv[4])), end = NanoSeconds(std::stoll(argv[7]));
    const int limit_pkts = std::stoi(argv[5]);
    g_warmup = NanoSeconds(std::stoll(argv[6]));
    SetTcp(argv[1]);

    NodeContainer nodes(3);
    NetDeviceContainer access = Join(nodes.Get(0), nodes.Get(1), 1e9, Time(0));
    NetDeviceContainer bottleneck = Join(nodes.Get(1), nodes.Get(2), bps, delay);
    InternetStackHelper().Install(nodes);
    // The device keeps one more packet, which netwarp's queue counts.
    TrafficControlHelper queue;
    queue.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue(std::to_string(limit_pkts - 1) + "p"));
    QueueDiscContainer disc = queue.Install(bottleneck.Get(0));
    disc.Get(0)->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&QueueDiscChanged));
    DynamicCast<PointToPointNetDevice>(bottleneck.Get(0))
        ->GetQueue()
        ->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&QueueDiscChanged));

    Ipv4AddressHelper("10.0.0.0", "255.255.255.0").Assign(access);
    Ipv4InterfaceContainer far = Ipv4AddressHelper("10.0.1.0", "255.255.255.0").Assign(bottleneck);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    ApplicationContainer sinks;
    for (int flow = 0; flow < flows; ++flow)
    {
        InetSocketAddress address(far.GetAddress(1), kPort + flow);
        sinks.Add(PacketSinkHelper("ns3::TcpSocketFactory", address).Install(nodes.Get(2)));
        BulkSendHelper("ns3::TcpSocketFactory", address).Install(nodes.Get(0)).Start(Time(0));
    }
    Simulator::Schedule(NanoSeconds(1), &WatchWindow);

    uint64_t before = 0;
    auto received = [&sinks] {
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < sinks.GetN(); ++i)
            bytes += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
        return bytes;
    };
    Simulator::Schedule(g_warmup, [&] { before = received(); });
    Simulator::Stop(end);
    Simulator::Run();
    std::cout << "goodput_mbps " << (received() - before) * 8 / (end - g_warmup).GetSeconds() / 1e6 << "\n"
              << "length_pkts_mean " << g_queue.Mean() << "\n"
              << "length_pkts_min " << g_queue.Least() << "\n";
    if (flows == 1)
        std::cout << "cwnd_pkts_mean " << g_window.Mean() << "\n";
    Simulator::Destroy();
    return 0;
}
